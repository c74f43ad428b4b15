import type { Device } from '../../../gpu/device/device.js'
import type { PrefixTree } from '../../../gpu/index/prefix-tree.js'

/** Stops merges in the background of a device behind each of their passes, until they are let go on. */
export class HeldPasses {
  readonly #device: Device
  readonly #workDone: Device['workDone']
  #isFree = false
  #held: { goOn: () => void; fail: (error: unknown) => void } | undefined
  #onHeld: (() => void) | undefined

  constructor(device: Device) {
    this.#device = device
    this.#workDone = device.workDone
    device.workDone = async () => {
      await this.#workDone.call(device)
      if (this.#isFree) return
      await new Promise<void>((goOn, fail) => {
        this.#held = { goOn, fail }
        this.#onHeld?.()
      })
    }
  }

  /** Waits until the merge of a tree has ended a pass and is held, or is over; whether it is held. */
  async reached(tree: PrefixTree): Promise<boolean> {
    if (this.#held !== undefined) return true
    const held = new Promise<boolean>((resolve) => {
      this.#onHeld = () => resolve(true)
    })
    return Promise.race([held, tree.background?.then(() => false) ?? false])
  }

  /** Waits until a pass is held. */
  async held(): Promise<void> {
    if (this.#held !== undefined) return
    await new Promise<void>((resolve) => {
      this.#onHeld = resolve
    })
  }

  /** Goes on to the end of the next pass. */
  goOn(): void {
    const held = this.#held
    this.#held = undefined
    held?.goOn()
  }

  /** Goes on as if the pass had failed. */
  fail(error: unknown): void {
    const held = this.#held
    this.#held = undefined
    held?.fail(error)
  }

  /** Holds nothing from now on. */
  free(): void {
    this.#isFree = true
    this.goOn()
  }

  /** Holds passes again. */
  hold(): void {
    this.#isFree = false
  }

  /** Leaves the device as it was. */
  end(): void {
    this.free()
    this.#device.workDone = this.#workDone
  }
}
