import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory, syncDirectory } from '../../persistence/disk/data-directory.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { asSelectionCosts, type SelectionCosts } from '../../protocol/query/selection-costs.js'

/** What the planner has measured on an adapter, by names that only it knows. */
export type Costs = Readonly<Record<string, number>>

/** A kind of costs, of which a data directory has a file for each adapter. */
export interface CostKind<T> {
  /** Follows the adapter in the file's name. */
  readonly suffix: string
  /** Counted up when costs of before mean something else, so that they are measured anew. */
  readonly version: number
  /** What it is that costs, in words for people. */
  readonly of: string
  /** Undefined where a file's value is none of the kind. */
  parse(value: unknown): T | undefined
}

export const TRAVERSAL_COSTS: CostKind<Costs> = {
  suffix: '',
  version: 2,
  of: 'the traversal strategies',
  parse: (value) => (areCosts(value) ? value : undefined),
}

export const SELECTION_COSTS: CostKind<SelectionCosts> = {
  suffix: '-selections',
  version: 3,
  of: 'selections',
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
export async function loadCosts<T>(
  kind: CostKind<T>,
  directory: string,
  adapter: string,
  onWarning: (message: string) => void,
): Promise<T | undefined> {
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
export async function storeCosts<T>(
  kind: CostKind<T>,
  directory: string,
  adapter: string,
  costs: T,
): Promise<void> {
  const folder = join(directory, FOLDER)
  await makeDirectory(folder)
  const path = pathOf(kind, directory, adapter)
  const draft = `${path}.tmp`
  const file = await open(draft, 'w')
  try {
    await file.writeFile(`${JSON.stringify({ version: kind.version, adapter, costs }, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  await syncDirectory(folder)
}

/** Two adapters may have one file, which then names the last that was measured. */
function pathOf({ suffix }: CostKind<unknown>, directory: string, adapter: string): string {
  const name = adapter
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH)
    .replaceAll(/^-|-$/g, '')
  return join(directory, FOLDER, `${name === '' ? 'unnamed' : name}${suffix}.json`)
}

function areCosts(value: unknown): value is Costs {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((cost) => typeof cost === 'number' && Number.isFinite(cost))
}
