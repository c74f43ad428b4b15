/** Where a result goes on the host. Who hands it over says when it may be used again. */
export interface ResultMemory {
  /** Memory of exactly that many bytes, whatever they hold, which starts at a multiple of 8. */
  allocate(bytes: number): Uint8Array
}

/** Memory that belongs to whoever gets the result. It is not zeroed, since the result fills it. */
export const OWN_MEMORY: ResultMemory = {
  allocate: (bytes) => {
    const { buffer } = Buffer.allocUnsafeSlow(bytes)
    return new Uint8Array(buffer, 0, bytes)
  },
}
