import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory, syncDirectory } from '../../persistence/data-directory.js'
import { toWarpdexError } from '../../protocol/errors.js'

/** What the planner has measured on an adapter, by names that only it knows. */
export type Costs = Readonly<Record<string, number>>

/** Counted up when costs of before mean something else, so that they are measured anew. */
export const CALIBRATION_VERSION = 1

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
export async function loadCosts(
  directory: string,
  adapter: string,
  onWarning: (message: string) => void,
): Promise<Costs | undefined> {
  const path = pathOf(directory, adapter)
  const refuse = (what: string) => {
    onWarning(`${path} ${what}; the costs of the traversal strategies are measured anew`)
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
  if (version !== CALIBRATION_VERSION) {
    return refuse(`has version ${JSON.stringify(version) ?? 'none'}, not ${CALIBRATION_VERSION}`)
  }
  if (measured !== adapter) return refuse(`is of another adapter than ${JSON.stringify(adapter)}`)
  return areCosts(costs) ? costs : refuse('is damaged: its costs are not all numbers')
}

/** Stores an adapter's costs in the place of those that there were. */
export async function storeCosts(directory: string, adapter: string, costs: Costs): Promise<void> {
  const folder = join(directory, FOLDER)
  await makeDirectory(folder)
  const path = pathOf(directory, adapter)
  const draft = `${path}.tmp`
  const file = await open(draft, 'w')
  try {
    await file.writeFile(`${JSON.stringify({ version: CALIBRATION_VERSION, adapter, costs }, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  await syncDirectory(folder)
}

/** Two adapters may have one file, which then names the last that was measured. */
function pathOf(directory: string, adapter: string): string {
  const name = adapter
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH)
    .replaceAll(/^-|-$/g, '')
  return join(directory, FOLDER, `${name === '' ? 'unnamed' : name}.json`)
}

function areCosts(value: unknown): value is Costs {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((cost) => typeof cost === 'number' && Number.isFinite(cost))
}
