import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Section } from '../../../protocol/frame.js'
import { u32, values } from '../engine/open-engine.js'
import { checkParts, countParts, LOADED, loader, loadUntilCrash } from './load-parts.js'
import { RawClient } from './raw-client.js'
import { serve } from './serve-process.js'

const BATCH_KEYS = 40
const WRITERS = 4

const column = (bytes: Uint8Array): Section => ({ type: 'u32', bytes })

/** One batch of a writer: its keys are its own, and each has the batch's number as its payload's text. */
function batchRequest(batch: number, client: number) {
  const keys = u32(...Array.from({ length: BATCH_KEYS }, (_, i) => batch * BATCH_KEYS + i))
  const text = Buffer.from(`${batch}`.padEnd(10))
  const offsets = u32(...Array.from({ length: BATCH_KEYS + 1 }, (_, i) => i * text.length))
  return {
    header: { id: batch * WRITERS + client, op: 'insert', index: 'batches', writeId: batch },
    sections: {
      keys: column(keys),
      payloadOffsets: column(offsets),
      payloads: { type: 'bytes', bytes: Buffer.concat(new Array(BATCH_KEYS).fill(text)) },
    },
  } as const
}

/** Writes batches one after the other until the connection ends; those before the returned one are acknowledged. */
async function writeUntilCrash(t: Test, url: string, writer: number, first: number): Promise<number> {
  const client = await RawClient.connect(t, url)
  client.socket.on('error', () => {})
  const crashed = once(client.socket, 'close').then(() => undefined)
  await client.ask({ id: 0, op: 'hello', protocol: 1, client: `writer-${writer}` })
  for (let batch = first; ; batch += WRITERS) {
    const { header, sections } = batchRequest(batch, writer)
    const reply = await Promise.race([client.ask(header, sections), crashed])
    if (reply === undefined) return batch
    t.match(reply.header, { ok: true })
  }
}

/** How often each batch's keys are there, by batch; every payload must be the batch's own. */
async function readBatches(t: Test, url: string): Promise<Map<number, number>> {
  const client = await RawClient.connect(t, url)
  const found = new Map<number, number>()
  let tokens: Section | undefined
  for (;;) {
    const scan = { id: 1, op: 'scan', index: 'batches', limit: 5000 }
    const { header, sections } = await client.ask(scan, tokens === undefined ? {} : { tokens })
    if (header.ok !== true) throw new Error(JSON.stringify(header))
    const offsets = values(sections.get('payloadOffsets')!.bytes)
    const payloads = Buffer.from(sections.get('payloads')!.bytes)
    let wrong = 0
    values(sections.get('keys')!.bytes).forEach((key, i) => {
      const batch = Math.floor(key / BATCH_KEYS)
      found.set(batch, (found.get(batch) ?? 0) + 1)
      if (payloads.toString('utf8', offsets[i], offsets[i + 1]).trim() !== `${batch}`) wrong++
    })
    t.equal(wrong, 0, 'payloads are those that were written')
    if (sections.get('more')!.bytes[0] === 0) return found
    tokens = sections.get('tokens')!
  }
}

t.test('kill -9 loses no acknowledged write or part of a load, and leaves no half of either', async (t) => {
  const directory = t.testdir()
  const firsts = Array.from({ length: WRITERS }, (_, writer) => writer)
  let loaded = { acknowledged: 0, sent: 0 }
  for (let round = 0; round < 3; round++) {
    const { child, url } = await serve(t, directory)
    const client = await RawClient.connect(t, url)
    const definition = { index: 'batches', keyType: 'u32', payloadKind: 'bytes', unique: false }
    await client.ask({ id: 0, op: 'createIndex', ...definition, ifNotExists: true })
    const before = await readBatches(t, url)
    for (const [writer, first] of firsts.entries()) {
      for (let batch = writer; batch < first; batch += WRITERS) {
        if (before.get(batch) !== BATCH_KEYS)
          t.fail(`batch ${batch} was acknowledged: ${before.get(batch)} keys`)
      }
    }
    for (const [batch, keys] of before) if (keys !== BATCH_KEYS) t.fail(`batch ${batch} has ${keys} keys`)
    const loading = await loader(t, url)
    await loading.ask({ id: 0, op: 'createIndex', ...LOADED, ifNotExists: true })
    checkParts(t, await countParts(loading, loaded.sent), loaded.acknowledged)
    // Each writer sends again what was not acknowledged, with the id that it had.
    const writing = firsts.map((first, writer) => writeUntilCrash(t, url, writer, first))
    const loads = loadUntilCrash(t, url, loaded.acknowledged + 1)
    await setTimeout(400 + round * 150)
    child.kill('SIGKILL')
    await once(child, 'exit')
    loaded = await loads
    firsts.splice(0, WRITERS, ...(await Promise.all(writing)))
    t.comment(`round ${round}: ${firsts.join(', ')} batches`)
  }
  const { child, url } = await serve(t, directory)
  checkParts(t, await countParts(await loader(t, url), loaded.sent), loaded.acknowledged)
  const after = await readBatches(t, url)
  t.ok(after.size > 0)
  t.same(
    [...after.values()].filter((keys) => keys !== BATCH_KEYS),
    [],
  )
  child.kill('SIGTERM')
  const [code, signal] = await once(child, 'exit')
  t.same([code, signal], [0, null])
})
