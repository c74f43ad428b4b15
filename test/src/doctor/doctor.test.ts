import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { Store } from '../../../persistence/store.js'
import { diskLines } from '../../../src/doctor/disk.js'
import { examine, nodeLine } from '../../../src/doctor/doctor.js'
import { distributionOf, driverAdvice, installedGpus } from '../../../src/doctor/drivers.js'
import { gpuInUse } from '../../../src/doctor/gpu-in-use.js'

t.test('what a machine has, line by line', async (t) => {
  const directory = t.testdir()
  const taken = createServer()
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => resolve(Object(taken.address()).port))
  })
  t.teardown(() => taken.close())
  const store = await Store.open(join(directory, 'data'))
  const lines = await examine({ directory: join(directory, 'data'), host: '127.0.0.1', port })
  await store.close()
  const bySubject = new Map(lines.map((line) => [line.subject, line]))
  t.same(
    lines.filter(({ state }) => state === 'fail'),
    [],
  )
  t.match(bySubject.get('adapter'), { found: /./ })
  t.match(bySubject.get('limits'), { state: 'ok', found: /binds .* GiB; \d+ invocations/ })
  t.match(bySubject.get('port'), { state: 'warn', found: /in use/, remedy: /another/ })
  t.match(bySubject.get('data directory'), {
    state: 'warn',
    found: new RegExp(`process ${process.pid} on .* open`),
  })
  t.match(bySubject.get('disk speed'), { found: /MiB\/s in sequence; a sync takes [\d.]+ ms/ })
  t.match(bySubject.get('bufferutil'), { state: 'ok' })
  t.match(bySubject.get('WebAssembly'), { state: 'ok' })
  t.ok(lines.every(({ state, remedy }) => (state === 'ok') === (remedy === undefined)))
  t.notOk(readdirSync(join(directory, 'data')).some((name) => name.includes('doctor')))
})

t.test('data directories', async (t) => {
  const directory = t.testdir({ other: { 'letter.txt': 'mine' } })
  const [first] = await diskLines(join(directory, 'none', 'below'))
  t.match(first, { state: 'ok', found: /is made at the first start/ })
  t.same(readdirSync(directory), ['other'])
  t.match((await diskLines(join(directory, 'other')))[0], { state: 'fail', found: /letter.txt/ })
})

t.test('the GPU in use, of two that are alike, and who else uses it', async (t) => {
  const open = (...files: string[]) => ({
    fd: Object.fromEntries(files.map((file, i) => [i, t.fixture('symlink', file)])),
  })
  const [first, second] = ['/dev/nvidia0', '/dev/nvidia1']
  const proc = t.testdir({
    self: open(first, '/dev/null', second, second),
    17: open(first, first, second),
    18: open(second, second, first),
    19: open('/dev/null'),
    driver: {
      nvidia: {
        gpus: {
          '0000:06:00.0': { information: 'Model: \t\t X\nDevice Minor: \t 0\n' },
          '0000:07:00.0': { information: 'Model: \t\t X\nDevice Minor: \t 1\n' },
        },
      },
    },
  })
  t.same(gpuInUse(proc), { file: second, address: '0000:07:00.0', sharedWith: [18] })
  t.equal(gpuInUse(t.testdir({ self: open('/dev/null') })), undefined)
})

t.test('what is too old, and what to install', async (t) => {
  t.match(nodeLine('20.15.0'), { state: 'ok' })
  t.match(nodeLine('24.1.0'), { state: 'ok' })
  t.match(nodeLine('20.14.9'), { state: 'fail', remedy: /20\.15/ })
  t.match(nodeLine('18.20.0'), { state: 'fail' })
  t.equal(
    distributionOf('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22"\n'),
    'linuxmint ubuntu debian',
  )
  t.match(driverAdvice('linux', 'debian', ['NVIDIA']), /^NVIDIA: apt install libvulkan1 nvidia-driver/)
  t.match(driverAdvice('linux', 'ubuntu debian', ['AMD']), /^AMD: apt install .*mesa-vulkan-drivers$/)
  t.match(driverAdvice('linux', 'fedora', []), /NVIDIA: dnf .*AMD: dnf .*Intel: dnf/)
  t.match(driverAdvice('win32', '', []), /Direct3D 12/)
  t.match(driverAdvice('darwin', '', []), /Metal/)
  const bus = t.testdir()
  for (const [name, kind, vendor] of [
    ['a', '0x030000', '0x10de'],
    ['b', '0x030200', '0x10de'],
    ['c', '0x020000', '0x8086'],
  ]) {
    mkdirSync(join(bus, name))
    writeFileSync(join(bus, name, 'class'), `${kind}\n`)
    writeFileSync(join(bus, name, 'vendor'), `${vendor}\n`)
  }
  t.same(installedGpus(bus), ['NVIDIA'])
  t.same(installedGpus(join(bus, 'none')), [])
})
