// The program of the process that checks a data file, see `checker.ts`.
import { type ErrorCode, toWarpdexError } from '../../protocol/errors.js'
import { directoryError } from '../disk/errors.js'
import { decodePointer, type SnapshotInfo } from '../snapshots/snapshots.js'
import { DataFile, judged } from './data-file.js'
import { type Inspection, Inspector, lost } from './inspection.js'
import { checkKeys } from './key-check.js'

/** What may be asked for, and what comes of it. */
export interface Checks {
  /** None, where the store may be opened. */
  readonly keys: readonly SnapshotInfo[]
  /** The snapshots that the data file names. */
  readonly pointers: readonly SnapshotInfo[]
  readonly inspection: Inspection
}

export interface CheckJob {
  readonly check: keyof Checks
  readonly directory: string
  /** Where LMDB finds the data file. */
  readonly place: string
}

/** `reading`: from here on it is damage that makes the process crash. */
export type FromCheckProgram =
  | { readonly kind: 'reading'; readonly isWhole: boolean }
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'done'; readonly result: Checks[keyof Checks] }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

const PROGRESS_MS = 50

type Tell = (message: FromCheckProgram) => void

process.on('message', (job: CheckJob) => void run(job))

async function run(job: CheckJob): Promise<void> {
  const tell: Tell = (message) => process.send?.(message)
  try {
    tell({ kind: 'reading', isWhole: true })
    tell({ kind: 'done', result: await perform(job, tell) })
  } catch (thrown) {
    const { code, message } = toWarpdexError(directoryError(job.directory, thrown))
    tell({ kind: 'failed', code, message })
  }
}

async function perform({ check, directory, place }: CheckJob, tell: Tell): Promise<Checks[keyof Checks]> {
  let file: DataFile
  try {
    file = DataFile.open(directory, place)
  } catch (thrown) {
    if (check === 'inspection' && toWarpdexError(thrown).code === 'DAMAGED_FILE')
      return lost(toWarpdexError(thrown).message)
    throw thrown
  }
  tell({ kind: 'reading', isWhole: file.isWhole })
  try {
    if (check === 'inspection') return await new Inspector(file, progress(tell)).run()
    return judged(file.path, () => {
      const pointers: SnapshotInfo[] = []
      if (check === 'keys') checkKeys(file)
      else for (const [key, value] of file.entries('snapshots')) pointers.push(decodePointer(key, value))
      return pointers
    })
  } finally {
    await file.close()
  }
}

function progress(tell: Tell): (bytes: number) => void {
  let next = 0
  return (bytes) => {
    const now = performance.now()
    if (now < next) return
    next = now + PROGRESS_MS
    tell({ kind: 'progress', bytes })
  }
}
