import type { Client, Index } from '../../../clients/sdk/index.js'

interface Mark {
  readonly value: number
  /** Of each replica set, the position up to which a node has everything that has this, too. */
  readonly positions: readonly number[]
}

/** Numbers under keys that nobody else writes to. They only grow, and no node that has reached a position goes back behind it. */
export class Marks {
  readonly #marks = new Map<number, Mark>()

  /** Writes a number that is larger than those before, one at a time for each key. */
  async raise(client: Client, index: Index<'u32', 'u32'>, key: number, value: number): Promise<void> {
    await index.put(key, value)
    const { positions } = await client.position()
    this.#marks.set(key, { value, positions })
  }

  /**
   * Reads from a node of a replica set what it has once it has reached the position of the newest number.
   * @returns what is wrong; undefined where all is right, or no number is acknowledged
   */
  async explain(client: Client, set: number, key: number): Promise<string | undefined> {
    const mark = this.#marks.get(key)
    if (mark === undefined) return undefined
    await client.reached({ positions: mark.positions.slice(set, set + 1) })
    const value = await client.index<'u32', 'u32'>('registers').get(key)
    if (value !== undefined && value >= mark.value) return undefined
    return `key ${key} has ${value ?? 'nothing'} at position ${mark.positions[set]}, where ${mark.value} was acknowledged`
  }
}
