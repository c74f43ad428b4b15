import type { Device } from '../../../gpu/device/device.js'
import { measureParts, type PartChoice } from '../parts.js'
import { drawCharts } from './charts.js'
import { DATA_SETS, keyLengths } from './data-sets.js'
import { createTools } from './device-subject.js'
import { Evaluation, FIGURES } from './figures.js'
import { choosePlan } from './plan.js'

export interface SpeculationOptions {
  /** Seconds instead of minutes, on small indexes. */
  readonly quick: boolean
  /** The figures to measure; all unless given. */
  readonly parts: PartChoice | undefined
  /** Where the rows are kept, with the charts beside them. */
  readonly path: string | undefined
}

/**
 * Repeats the evaluation of Volk et al. (§6, Figure 8): the traversals of the prefix tree against the naive index and against a
 * sequential one on the CPU.
 */
export async function benchSpeculation(
  device: Device,
  { quick, parts, path }: SpeculationOptions,
): Promise<void> {
  const { name, software } = device.facts
  const plan = choosePlan(software, quick)
  for (const set of Object.values(DATA_SETS)) {
    const { average, longest } = keyLengths(set.keys(100_000))
    console.log(`${set.name}: 100000 keys of ${average.toFixed(1)} bytes on average, ${longest} at most`)
  }
  const evaluation = new Evaluation(await createTools(device), plan)
  await measureParts({
    suite: 'speculation',
    adapter: name,
    all: FIGURES,
    parts,
    measure: (figure) => evaluation.measure(figure),
    draw: drawCharts,
    path,
  })
}
