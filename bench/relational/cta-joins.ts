import type { Recorder } from '../../gpu/device/recorder.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import type { SortedTuples } from '../papers/diamos/cut.js'
import { CTA_JOINS, Join } from '../papers/diamos/join.js'
import { JoinPages, readPages } from '../papers/diamos/join-pages.js'
import type { Row } from '../report.js'
import { bytesOf, checkTuples, type HostTuples, halfMatchingPair, pick, uploadColumn } from './host-tuples.js'
import { besideCopy, kernelRows, type Setting } from './timing.js'

/** A JOIN that is measured. */
interface Step {
  readonly name: string
  readonly record: (recorder: Recorder, scratch: Scratch) => void
}

/**
 * JOIN of 2^logarithm tuples each, half of which match, by each of the ways in which a workgroup may join two ranges (Diamos §4.2, Table 3), and into
 * a list of pages (§4.3), each compared with a plain loop's first.
 * @param alone whether what each kernel takes by itself is measured, too
 */
export async function benchCtaJoins(setting: Setting, logarithm: number, alone: boolean): Promise<Row[]> {
  const { device, primitives } = setting
  const { first, second, matched } = halfMatchingPair(2 ** logarithm, true)
  const wanted = [...pick(first, matched.first), ...pick(second, matched.second).slice(1)]
  const results = matched.first.length
  const bytes = bytesOf(first) + bytesOf(second) + bytesOf(wanted)
  const inputs = device.scratch()
  const [x, y] = [first, second].map(([keys, payloads]): SortedTuples => {
    const upload = (column: Uint32Array) => uploadColumn(device, inputs, column)
    return { keys: upload(keys!), payloads: upload(payloads!), count: keys!.length }
  }) as [SortedTuples, SortedTuples]
  const steps: Step[] = []
  const check = async (step: Step, read: (recorder: Recorder, scratch: Scratch) => Promise<HostTuples>) => {
    await device.withScratch(async (scratch) => {
      const [keys, payloads] = await read(device.record(), scratch)
      checkTuples(step.name, [keys!, ...unzipped(payloads!)], wanted)
    })
    steps.push(step)
  }
  for (const algorithm of CTA_JOINS) {
    const join = new Join(device, primitives, algorithm)
    const record: Step['record'] = (recorder, scratch) => void join.record(recorder, scratch, x, y, results)
    await check({ name: `JOIN by ${algorithm}, u32 + u32`, record }, async (recorder, scratch) => {
      const found = join.record(recorder, scratch, x, y, results)
      recorder.submit()
      return [
        await device.readWords(found.keys, results),
        await device.readWords(found.payloads, 2 * results),
      ]
    })
  }
  const join = new JoinPages(device, 'network')
  const record: Step['record'] = (recorder, scratch) => void join.record(recorder, scratch, x, y)
  await check({ name: 'JOIN by network into pages, u32 + u32', record }, async (recorder, scratch) => {
    const list = join.record(recorder, scratch, x, y)
    recorder.submit()
    const { keys, payloads } = await readPages(device, list)
    return [keys, payloads]
  })
  const rows: Row[] = []
  for (const step of steps) {
    const { record } = step
    const name = `${step.name}, 2^${logarithm}`
    rows.push({ name, figures: await besideCopy(setting, { bytes, time: (timer) => timer.time(record) }) })
    if (!alone) continue
    const run = async () => {
      const scratch = device.scratch()
      const recorder = device.record()
      record(recorder, scratch)
      recorder.submit()
      scratch.release()
    }
    rows.push(...(await kernelRows(device, name, run)))
  }
  inputs.release()
  return rows
}

/** The second word of each pair, and the first one. */
function unzipped(pairs: Uint32Array): HostTuples {
  const words = (offset: number) =>
    Uint32Array.from({ length: pairs.length / 2 }, (_, i) => pairs[2 * i + offset]!)
  return [words(1), words(0)]
}
