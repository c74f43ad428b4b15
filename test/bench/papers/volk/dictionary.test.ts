import t, { type Test } from 'tap'
import { DeviceDictionary } from '../../../../bench/papers/volk/dictionary.js'
import { openDevice } from '../../../gpu/open-device.js'
import { Random, seedOfRun } from '../../../random.js'

const device = await openDevice(t)

async function openDictionary(t: Test): Promise<DeviceDictionary> {
  const dictionary = await DeviceDictionary.create(device)
  t.teardown(() => dictionary.destroy())
  return dictionary
}

t.test('names of every length, and names that differ in one byte', async (t) => {
  const dictionary = await openDictionary(t)
  const names: string[] = []
  for (let length = 1; length <= 128; length++) names.push('a'.repeat(length))
  for (const last of ['b', '\0', '\x7f']) names.push('a'.repeat(127) + last, last, `aaaaa${last}`)
  names.push('b'.repeat(128), `b${'a'.repeat(127)}`, 'ü'.repeat(64), '日本', `a\0`, `a\0\0\0`)
  for (const [id, name] of names.entries()) await dictionary.add(name, id)
  t.equal(dictionary.size, names.length)
  t.same(
    await Promise.all(names.map((name) => dictionary.find(name))),
    names.map((_, id) => id),
  )
  for (const absent of ['c', 'aaab', 'ü', `${'a'.repeat(126)}b`, 'a\0\0', 'b'.repeat(127)]) {
    t.equal(await dictionary.find(absent), undefined, JSON.stringify(absent))
  }
  await t.rejects(dictionary.find(''), { code: 'BAD_REQUEST', message: /1 to 128/ })
  await t.rejects(dictionary.find(`${'ü'.repeat(64)}a`), { code: 'BAD_REQUEST', message: /129 bytes/ })
  await t.rejects(dictionary.add('a', 7), { code: 'INTERNAL' })
})

t.test('ids are any u32, and an empty dictionary finds nothing', async (t) => {
  const dictionary = await openDictionary(t)
  t.equal(await dictionary.find('a'), undefined)
  await dictionary.add('zero', 0)
  await dictionary.add('last', 2 ** 32 - 1)
  t.equal(await dictionary.find('zero'), 0)
  t.equal(await dictionary.find('last'), 2 ** 32 - 1)
})

t.test('lookups see the changes that were made before them', async (t) => {
  const dictionary = await openDictionary(t)
  await dictionary.add('a', 1)
  const before = dictionary.find('a')
  t.equal(dictionary.remove('a'), true)
  t.equal(dictionary.remove('a'), false)
  const between = dictionary.find('a')
  await dictionary.add('a', 2)
  t.same(await Promise.all([before, between, dictionary.find('a')]), [1, undefined, 2])
})

t.test('it grows, and uses free slots again', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const dictionary = await openDictionary(t)
  const model = new Map<string, number>()
  const firstBytes = dictionary.deviceBytes
  for (let id = 0; id < 1000; id++) {
    await dictionary.add(`index ${id}`, id)
    model.set(`index ${id}`, id)
  }
  const { deviceBytes } = dictionary
  t.ok(deviceBytes > firstBytes)
  for (let id = 1000; id < 4000; id++) {
    const gone = random.pick([...model.keys()])
    dictionary.remove(gone)
    model.delete(gone)
    const name = `${random.below(1000)} ${id}`
    await dictionary.add(name, id)
    model.set(name, id)
  }
  t.equal(dictionary.size, model.size)
  t.equal(dictionary.deviceBytes, deviceBytes, 'no more slots than names')
  const names = [...model.keys()]
  t.same(await Promise.all(names.map((name) => dictionary.find(name))), [...model.values()])
})
