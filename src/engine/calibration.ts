import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AdapterFacts, Device } from '../../gpu/device/device.js'
import { makeDirectory, replaceFile } from '../../persistence/disk/data-directory.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { asSelectionCosts } from '../../protocol/query/selection-costs.js'

/** Where a device has costs of a kind. */
export type CostField = 'traversalCosts' | 'selectionCosts'
export type CostsOf<F extends CostField> = NonNullable<Device[F]>

/** A kind of costs, of which a data directory has a file for each adapter. */
export interface CostKind<F extends CostField> {
  readonly field: F
  /** Follows the adapter in the file's name. */
  readonly suffix: string
  /** Counted up when costs of before mean something else, so that they are measured anew. */
  readonly version: number
  /** What it is that costs, in words for people. */
  readonly of: string
  /** By what costs are told apart on disk. */
  adapterOf(facts: AdapterFacts): string
  /** Undefined where a file's value is none of the kind. */
  parse(value: unknown): CostsOf<F> | undefined
}

export const TRAVERSAL_COSTS: CostKind<'traversalCosts'> = {
  field: 'traversalCosts',
  suffix: '',
  version: 4,
  of: 'the traversal strategies',
  adapterOf: ({ name }) => name,
  parse: (value) => (areCosts(value) ? value : undefined),
}

export const SELECTION_COSTS: CostKind<'selectionCosts'> = {
  field: 'selectionCosts',
  suffix: '-selections',
  version: 4,
  of: 'selections',
  // Another driver may compile the same kernels into slower or faster ones.
  adapterOf: ({ name, driver }) => (driver === '' || driver === name ? name : `${name}, ${driver}`),
  parse: asSelectionCosts,
}

const FOLDER = 'calibration'
/** Longest name of a file without its ending: adapters' names have no bound, those of files do. */
const NAME_LENGTH = 100

/**
 * The costs that were stored for an adapter. A file that cannot be used is reported and left where it is, to be replaced by
 * `storeCosts`.
 *
 * @param directory the data directory
 * @returns undefined when there are none of use
 */
export async function loadCosts<F extends CostField>(
  kind: CostKind<F>,
  directory: string,
  adapter: string,
  onWarning: (message: string) => void,
): Promise<CostsOf<F> | undefined> {
  const path = pathOf(kind, directory, adapter)
  const refuse = (what: string) => {
    onWarning(`${path} ${what}; the costs of ${kind.of} are measured anew`)
    return undefined
  }
  let content: unknown
  try {
    content = JSON.parse(await readFile(path, 'utf8'))
  } catch (thrown) {
    const missing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'
    return missing ? undefined : refuse(`cannot be read: ${toWarpdexError(thrown).message}`)
  }
  const { version, adapter: measured, costs } = Object(content)
  if (version !== kind.version) {
    return refuse(`has version ${JSON.stringify(version) ?? 'none'}, not ${kind.version}`)
  }
  if (measured !== adapter) return refuse(`is of another adapter than ${JSON.stringify(adapter)}`)
  return kind.parse(costs) ?? refuse('is damaged: its costs are not all numbers')
}

/** Stores an adapter's costs in the place of those that there were. */
export async function storeCosts<F extends CostField>(
  kind: CostKind<F>,
  directory: string,
  adapter: string,
  costs: CostsOf<F>,
): Promise<void> {
  await makeDirectory(join(directory, FOLDER))
  const content = { version: kind.version, adapter, costs }
  await replaceFile(pathOf(kind, directory, adapter), `${JSON.stringify(content, null, 2)}\n`)
}

/** Two adapters may have one file, which then names the last that was measured. */
function pathOf({ suffix }: Pick<CostKind<CostField>, 'suffix'>, directory: string, adapter: string): string {
  const name = adapter
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH)
    .replaceAll(/^-|-$/g, '')
  return join(directory, FOLDER, `${name === '' ? 'unnamed' : name}${suffix}.json`)
}

/** What the planner has measured on an adapter, by names that only it knows. */
function areCosts(value: unknown): value is Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((cost) => typeof cost === 'number' && Number.isFinite(cost))
}
