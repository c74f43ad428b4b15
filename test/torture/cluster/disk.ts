import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** More than what nodes and NATS servers keep of a torture. */
const SIZE_MIB = 128

/** A small file system in memory, which can be filled. */
export class Disk {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  /** Mounts one there. @returns undefined where this process may not: root may, as in `unshare -rm` */
  static mount(directory: string): Disk | undefined {
    mkdirSync(directory, { recursive: true })
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MIB}m`, 'tmpfs', directory])
    return status === 0 ? new Disk(directory) : undefined
  }

  /** Leaves no room. */
  fill(): void {
    for (let piece = Buffer.alloc(2 ** 20); piece.length > 0; ) {
      try {
        appendFileSync(this.#ballast, piece)
      } catch (error) {
        if (Object(error).code !== 'ENOSPC') throw error
        piece = piece.subarray(0, piece.length >> 1)
      }
    }
  }

  /** Has room again. */
  free(): void {
    rmSync(this.#ballast, { force: true })
  }

  unmount(): void {
    spawnSync('umount', ['-l', this.#directory])
  }

  get #ballast(): string {
    return join(this.#directory, 'ballast')
  }
}
