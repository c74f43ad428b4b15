import type { Device } from '../../gpu/device/device.js'
import { DeviceDictionary } from '../../gpu/dictionary/dictionary.js'

/**
 * The dictionary of indexes on the device, kept in step with those that there are, whatever device that is. Changes and lookups
 * take effect in the order of the calls.
 */
export class IndexNames {
  /** What the dictionary must hold, as of the last change whose turn has come. */
  readonly #ids = new Map<string, number>()
  #dictionary: Promise<DeviceDictionary>
  /** Settles when the last change is made. */
  #turn: Promise<unknown>

  constructor(device: Device) {
    this.#dictionary = DeviceDictionary.create(device)
    this.#turn = this.#dictionary.catch(() => {})
  }

  /** Adds an index. */
  enter(name: string, id: number): Promise<void> {
    return this.#inTurn(async () => {
      const dictionary = await this.#dictionary
      await dictionary.add(name, id)
      this.#ids.set(name, id)
    })
  }

  /** Removes an index, if it was entered. */
  leave(name: string): void {
    void this.#inTurn(async () => {
      if (!this.#ids.delete(name)) return
      // Without a device there is nothing to remove it from.
      const dictionary = await this.#dictionary.catch(() => undefined)
      dictionary?.remove(name)
    })
  }

  /**
   * The id of the index of that name, looked up on the device.
   * @throws WarpdexError `DEVICE_LOST`, `OUT_OF_DEVICE_MEMORY`
   */
  async find(name: string): Promise<number | undefined> {
    // Only the submission has a turn, so that lookups overlap.
    const { found } = await this.#inTurn(async () => ({ found: (await this.#dictionary).find(name) }))
    return found
  }

  /** Enters all indexes anew on another device. */
  move(device: Promise<Device>): void {
    void this.#inTurn(async () => {
      this.#dictionary = this.#rebuild(device)
      await this.#dictionary.catch(() => {})
    })
  }

  async #rebuild(device: Promise<Device>): Promise<DeviceDictionary> {
    const dictionary = await DeviceDictionary.create(await device)
    for (const [name, id] of this.#ids) await dictionary.add(name, id)
    return dictionary
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(run)
    this.#turn = done.catch(() => {})
    return done
  }
}
