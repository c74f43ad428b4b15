import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { KernelTimer } from '../../kernel-time.js'
import type { Row } from '../../report.js'
import type { SortedTuples } from './cut.js'
import { bytesOf, checkTuples, type HostTuples, halfMatchingPair, pick, uploadColumn } from './host-tuples.js'
import { CTA_JOINS, Join } from './join.js'
import { JoinPages, readPages } from './join-pages.js'
import { besideCopy, kernelRows, type Setting } from './timing.js'

/** A JOIN that is measured. */
interface Step {
  readonly name: string
  /** Returns what reads the result, once that is submitted. */
  readonly record: (recorder: Recorder, scratch: Scratch) => () => Promise<HostTuples>
}

/**
 * JOIN of 2^logarithm tuples each, half of which match, by each of the ways in which a workgroup may join two ranges (Diamos §4.2, Table 3), and into
 * a list of pages (§4.3), each compared with a plain loop's first.
 * @param alone whether what each kernel takes by itself is measured, too
 */
export async function benchCtaJoins(setting: Setting, logarithm: number, alone: boolean): Promise<Row[]> {
  const { device } = setting
  const { first, second, matched } = halfMatchingPair(2 ** logarithm, true)
  const wanted = [...pick(first, matched.first), ...pick(second, matched.second).slice(1)]
  const bytes = bytesOf(first) + bytesOf(second) + bytesOf(wanted)
  const rows: Row[] = []
  await device.withScratch(async (inputs) => {
    const [x, y] = [first, second].map(([keys, payloads]): SortedTuples => {
      const upload = (column: Uint32Array) => uploadColumn(device, inputs, column)
      return { keys: upload(keys!), payloads: upload(payloads!), count: keys!.length }
    }) as [SortedTuples, SortedTuples]
    for (const step of stepsOf(setting, x, y, matched.first.length)) {
      const name = `${step.name}, u32 + u32, 2^${logarithm}`
      const run = (use?: (read: () => Promise<HostTuples>) => Promise<void>) =>
        device.withScratch(async (scratch) => {
          const recorder = device.record()
          const read = step.record(recorder, scratch)
          recorder.submit()
          await use?.(read)
        })
      await run(async (read) => checkTuples(name, await read(), wanted))
      const time = (timer: KernelTimer) =>
        timer.time((recorder, scratch) => void step.record(recorder, scratch))
      rows.push({ name, figures: await besideCopy(setting, { bytes, time }) })
      if (alone) rows.push(...(await kernelRows(device, name, () => run())))
    }
  })
  return rows
}

function stepsOf({ device, primitives }: Setting, x: SortedTuples, y: SortedTuples, results: number): Step[] {
  const steps = CTA_JOINS.map((algorithm): Step => {
    const join = new Join(device, primitives, algorithm)
    return {
      name: `JOIN by ${algorithm}`,
      record: (recorder, scratch) => {
        const { keys, payloads } = join.record(recorder, scratch, x, y, results)
        return async () => [
          await device.readWords(keys, results),
          ...unzipped(await device.readWords(payloads, 2 * results)),
        ]
      },
    }
  })
  const join = new JoinPages(device, 'network')
  const record: Step['record'] = (recorder, scratch) => {
    const list = join.record(recorder, scratch, x, y)
    return async () => {
      const { keys, payloads } = await readPages(device, list)
      return [keys, ...unzipped(payloads)]
    }
  }
  return [...steps, { name: 'JOIN by network into pages', record }]
}

/** The second word of each pair, and the first one. */
function unzipped(pairs: Uint32Array): HostTuples {
  const words = (offset: number) =>
    Uint32Array.from({ length: pairs.length / 2 }, (_, i) => pairs[2 * i + offset]!)
  return [words(1), words(0)]
}
