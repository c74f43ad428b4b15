import { type ChildProcess, fork } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WarpdexError } from '../../protocol/errors.js'
import { DATA_FILE, LMDB_LOCK_FILE } from '../disk/store-files.js'
import type { SnapshotInfo } from '../snapshots/snapshots.js'
import type { CheckJob, Checks, FromCheckProgram } from './check-program.js'
import { FROM_BACKUP, type Inspection, lost } from './inspection.js'

export interface CheckOptions {
  /** Told how many bytes were read. */
  readonly onProgress?: ((bytes: number) => void) | undefined
  /** Ends it, with the signal's reason, once it is aborted. */
  readonly stop?: AbortSignal | undefined
}

/** Signals by which the system ends a process that reads where nothing is, and LMDB one that finds what cannot be. */
const CRASHES: readonly (NodeJS.Signals | null)[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGFPE']
/** From here on Windows gives exit codes to crashes. */
const LEAST_CRASH_CODE = 0xc0000000
const IDLE_MS = 5000

/** What a data file is that LMDB, or the system, ends a process for. */
class Crash extends WarpdexError {
  constructor(path: string, isWhole: boolean) {
    const what = isWhole ? 'is damaged or no LMDB file' : 'is cut off or damaged'
    super('DAMAGED_FILE', `${path} ${what}; ${FROM_BACKUP}`)
  }
}

/** @throws WarpdexError `DAMAGED_FILE` unless LMDB reads the data file of a directory, and the keys in it can be trusted */
export async function checkDataFile(directory: string): Promise<void> {
  await ask('keys', directory, {})
}

/** The snapshots that the data file of a directory names; none where it is damaged. */
export async function snapshotsNamed(
  directory: string,
  options: CheckOptions,
): Promise<readonly SnapshotInfo[]> {
  return ask('pointers', directory, options).catch((error: unknown) => {
    if (error instanceof WarpdexError && error.code === 'DAMAGED_FILE') return []
    throw error
  })
}

/** Checks every byte of a data file and its snapshots that counts. Raises no error for damage of the data file. */
export async function inspect(directory: string, options: CheckOptions): Promise<Inspection> {
  return ask('inspection', directory, options).catch((error: unknown) => {
    if (!(error instanceof Crash)) throw error
    return lost(error.message)
  })
}

/** One that waits for another job, and the user whose rights it has. */
let spare: { readonly child: ChildProcess; readonly user: number | undefined } | undefined

/** Has a process of its own do a check: LMDB crashes on a file that is damaged in certain ways. */
async function ask<C extends keyof Checks>(
  check: C,
  directory: string,
  options: CheckOptions,
): Promise<Checks[C]> {
  const { stop } = options
  stop?.throwIfAborted()
  const { place, leave } = placeFor(directory)
  const child = takeSpare() ?? startProgram()
  const end = () => child.kill('SIGKILL')
  stop?.addEventListener('abort', end)
  try {
    const job: CheckJob = { check, directory, place }
    child.send(job)
    const result = await answerOf(child, join(directory, DATA_FILE), options)
    keepForAWhile(child)
    // It gives what was asked for.
    return result as Checks[C]
  } catch (error) {
    end()
    throw error
  } finally {
    stop?.removeEventListener('abort', end)
    leave()
  }
}

function startProgram(): ChildProcess {
  return fork(program(), { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

function takeSpare(): ChildProcess | undefined {
  const { child, user } = spare ?? {}
  if (child?.connected !== true || user !== process.geteuid?.()) return undefined
  spare = undefined
  child.ref()
  child.channel?.ref()
  return child
}

/** A check often comes soon after another. What waits for it keeps this process from nothing, and ends with it. */
function keepForAWhile(child: ChildProcess): void {
  for (const event of ['message', 'error', 'exit']) child.removeAllListeners(event)
  child.unref()
  child.channel?.unref()
  if (spare?.child.connected) spare.child.disconnect()
  spare = { child, user: process.geteuid?.() }
  setTimeout(() => {
    if (spare?.child !== child) return
    spare = undefined
    if (child.connected) child.disconnect()
  }, IDLE_MS).unref()
}

function answerOf(child: ChildProcess, path: string, { onProgress, stop }: CheckOptions): Promise<unknown> {
  let isWhole: boolean | undefined
  return new Promise((resolve, reject) => {
    child.on('message', (message: FromCheckProgram) => {
      // It may have been quicker than its end.
      if (stop?.aborted) reject(stop.reason)
      else if (message.kind === 'reading') isWhole = message.isWhole
      else if (message.kind === 'progress') onProgress?.(message.bytes)
      else if (message.kind === 'done') resolve(message.result)
      else reject(new WarpdexError(message.code, message.message))
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      const hasCrashed = CRASHES.includes(signal) || Number(code) >= LEAST_CRASH_CODE
      if (stop?.aborted) reject(stop.reason)
      else if (isWhole !== undefined && hasCrashed) reject(new Crash(path, isWhole))
      else reject(new WarpdexError('INTERNAL', `${path} could not be checked: ${signal ?? `code ${code}`}`))
    })
  })
}

/**
 * Where LMDB finds the data file. It writes a lock's file beside it, which goes again unless it was there; a directory that may not be written
 * to gets a link from one that may.
 */
function placeFor(directory: string): { readonly place: string; readonly leave: () => void } {
  const lock = join(directory, LMDB_LOCK_FILE)
  try {
    accessSync(directory, constants.W_OK)
  } catch {
    const place = mkdtempSync(join(tmpdir(), 'warpdex-check-'))
    symlinkSync(resolve(directory, DATA_FILE), join(place, DATA_FILE))
    return { place, leave: () => rmSync(place, { recursive: true }) }
  }
  const wasThere = existsSync(lock)
  return { place: directory, leave: () => wasThere || rmSync(lock, { force: true }) }
}

function program(): string {
  return fileURLToPath(new URL(`check-program${extname(import.meta.url)}`, import.meta.url))
}
