/** Where keys leave the tree, on the device. */
export interface Located {
  /** Slot and depth of each. */
  readonly places: GPUBuffer
  /** The key's tuple, or NONE. */
  readonly residents: GPUBuffer
}
