/** What to do about a client that is silent: nothing, ask whether it is there, or give it up. */
export type HeartbeatVerdict = 'alive' | 'ask' | 'gone'

/** Notices that a client has vanished, of which TCP tells nothing: whoever is there answers a ping. */
export class Heartbeat {
  readonly #pingSeconds: number
  #bytesRead = 0
  #silent = 0
  #asked = false

  constructor(pingSeconds: number) {
    this.#pingSeconds = pingSeconds
  }

  /**
   * Time goes by.
   *
   * @param bytesRead all bytes that ever came from the client
   * @param listening whether they are read; where they are not, nothing can be said
   */
  tick(seconds: number, bytesRead: number, listening: boolean): HeartbeatVerdict {
    if (bytesRead !== this.#bytesRead || !listening) {
      this.#bytesRead = bytesRead
      this.#silent = 0
      this.#asked = false
      return 'alive'
    }
    this.#silent += seconds
    if (this.#silent < this.#pingSeconds) return 'alive'
    if (this.#asked) return this.#silent >= 2 * this.#pingSeconds ? 'gone' : 'alive'
    this.#asked = true
    return 'ask'
  }
}
