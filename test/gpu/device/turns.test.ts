import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { DirectRecorder, GroupRange } from '../../../gpu/device/recorder.js'
import { Turns, type TurnsDevice } from '../../../gpu/device/turns.js'

/** What a workgroup takes. */
const GROUP_MS = 0.02
const kernel = { divides: true } as Kernel

/** A device that does what is submitted in order, and only takes time. */
class FakeDevice implements TurnsDevice {
  readonly facts = { software: true }
  readonly submitted: GroupRange[] = []
  #free = 0

  submit(milliseconds: number): void {
    this.#free = Math.max(performance.now(), this.#free) + milliseconds
  }

  async workDone(): Promise<void> {
    await setTimeout(Math.max(0, this.#free - performance.now()))
  }

  record(): DirectRecorder {
    let groups = 0
    const recorder = {
      dispatchRange: (_kernel: unknown, _buffers: unknown, _params: unknown, range: GroupRange) => {
        this.submitted.push(range)
        groups += range.count
      },
      submit: () => this.submit(groups * GROUP_MS),
    }
    return recorder as unknown as DirectRecorder
  }
}

t.test('work that others always have in the queue does not make slices small', async (t) => {
  const device = new FakeDevice()
  let slices = 0
  let over = false
  const others = [1, 2].map(async () => {
    while (!over) {
      device.submit(10)
      await device.workDone()
    }
  })
  const refuse = () => {
    if (slices > 100) throw new Error('too many slices')
  }
  const lane = new Turns(device, 65_535).lane({ refuse, onSlice: () => slices++ })
  const recorder = lane.record()
  recorder.dispatchGroups(kernel, {}, {}, 4000)
  recorder.submit()
  await lane.submitted()
  over = true
  await Promise.all(others)
  const groups = device.submitted.flatMap(({ first, count }) =>
    Array.from({ length: count }, (_, i) => first + i),
  )
  t.strictSame(
    groups,
    Array.from({ length: 4000 }, (_, i) => i),
    'each workgroup runs once, in order',
  )
})

t.test('whoever waits for a recorder is told when all of it is submitted', async (t) => {
  const device = new FakeDevice()
  const lane = new Turns(device, 65_535).lane({ refuse: () => {} })
  const recorder = lane.record()
  const groups = () => device.submitted.reduce((sum, { count }) => sum + count, 0)
  let atCall = 0
  recorder.onSubmitted(() => {
    atCall = groups()
  })
  recorder.dispatchGroups(kernel, {}, {}, 1000)
  recorder.submit()
  t.ok(groups() < 1000, 'a part of it waits')
  t.equal(atCall, 0)
  await lane.submitted()
  t.equal(atCall, 1000)
})
