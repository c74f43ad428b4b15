import { WarpdexError } from '../../../protocol/errors.js'
import type { Ownership } from '../../../src/cluster/replica-node.js'
import type { ReplicatedLog } from '../../../src/cluster/replicated-log.js'

/** The log of a replica set in this process: what all its nodes share. */
export class MemoryLog {
  readonly entries: Uint8Array[] = []
  #onGrowth: (() => void)[] = []

  /** As a node has it. @param fault may throw before an append, or after it, which then is in the log */
  face(fault: (when: 'before' | 'after') => void = () => {}): ReplicatedLog {
    return {
      head: async () => this.entries.length,
      append: async (entry, expected) => {
        await new Promise(setImmediate)
        fault('before')
        if (expected !== this.entries.length)
          throw new WarpdexError('NOT_OWNER', `the last entry is ${this.entries.length}, not ${expected}`)
        this.entries.push(entry.slice())
        for (const wake of this.#onGrowth.splice(0)) wake()
        fault('after')
        return this.entries.length
      },
      read: (after, stop) => this.#read(after, stop),
      size: async () => this.entries.reduce((sum, { byteLength }) => sum + byteLength, 0),
      trim: async (through) => {
        for (let i = 0; i < through; i++) delete this.entries[i]
      },
    }
  }

  async *#read(after: number, stop: AbortSignal): AsyncGenerator<{ position: number; bytes: Uint8Array }> {
    for (let position = after + 1; !stop.aborted; ) {
      const bytes = this.entries[position - 1]
      if (bytes !== undefined) yield { position: position++, bytes }
      else if (position <= this.entries.length)
        throw new WarpdexError('DAMAGED_FILE', `there is no entry ${position} any more`)
      else
        await new Promise<void>((resolve) => {
          const wake = () => {
            stop.removeEventListener('abort', wake)
            resolve()
          }
          this.#onGrowth.push(wake)
          stop.addEventListener('abort', wake)
        })
    }
  }
}

/** Who owns a replica set, as a test says. */
export class HandedOwnership {
  #holder: string | undefined
  #waiting: (() => void)[] = []

  get holder(): string | undefined {
    return this.#holder
  }

  give(node: string | undefined): void {
    this.#holder = node
    for (const look of this.#waiting.splice(0)) look()
  }

  of(node: string): Ownership {
    const holds = (wanted: boolean) => async () => {
      while ((this.#holder === node) !== wanted)
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    const self = this
    return {
      get isHeld() {
        return self.#holder === node
      },
      get owner() {
        return self.#holder === undefined ? undefined : `ws://${self.#holder}`
      },
      gained: holds(true),
      lost: holds(false),
      rest: () => {
        if (self.#holder === node) self.give(undefined)
      },
      close: async () => {},
    }
  }
}
