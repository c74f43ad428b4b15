import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WarpdexError } from '../protocol/errors.js'

const LOCK_FILE = /^lock\.(\d+)\.[0-9a-f]{8}$/

export function isLockFile(name: string): boolean {
  return LOCK_FILE.test(name)
}

/**
 * Keeps a directory to one process. Each process that wants it first puts down a file of its own and then looks for those of
 * others, so that of two at least one sees the other. A file whose process has ended, by `kill -9` for instance, is removed.
 */
export class DirectoryLock {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  /** @throws WarpdexError `BAD_REQUEST` when a living process, this one included, has the directory open */
  static async acquire(directory: string): Promise<DirectoryLock> {
    const own = `lock.${process.pid}.${randomBytes(4).toString('hex')}`
    const lock = new DirectoryLock(join(directory, own))
    await writeFile(lock.#path, (await processIdentity(process.pid)) ?? '', { flag: 'wx' })
    try {
      for (const name of await readdir(directory)) {
        const pid = LOCK_FILE.exec(name)?.[1]
        if (pid === undefined || name === own) continue
        if (await isHeld(join(directory, name), Number(pid))) {
          throw new WarpdexError(
            'BAD_REQUEST',
            `process ${pid} has ${directory} open; stop it or use another data directory`,
          )
        }
        await rm(join(directory, name), { force: true })
      }
    } catch (error) {
      await lock.release()
      throw error
    }
    return lock
  }

  async release(): Promise<void> {
    await rm(this.#path, { force: true })
  }
}

async function isHeld(path: string, pid: number): Promise<boolean> {
  const identity = isAlive(pid) ? await processIdentity(pid) : undefined
  if (identity === undefined) return false
  const recorded = await readFile(path, 'latin1').catch(() => undefined)
  // A file that was just put down may still be empty; its process lives, so it counts.
  return recorded === '' || recorded === identity
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * What tells a process from a later one with the same number, as containers reuse them: the boot and the time of its start. Where
 * the system does not tell, the number alone has to do. Undefined for a process that has ended and only waits for its parent.
 */
async function processIdentity(pid: number): Promise<string | undefined> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1')
    const status = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The fields after the command name, which is in brackets and may hold some itself: the state first, the start as twentieth.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${boot.trim()} ${fields[19]}`
  } catch {
    return 'unknown'
  }
}
