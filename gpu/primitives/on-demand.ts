/** Things of one kind, each made when it is first asked for and kept. */
export class OnDemand<Key, Thing> {
  readonly #make: (key: Key) => Promise<Thing>
  readonly #made = new Map<string, Promise<Thing>>()

  /** @param make makes the thing of a key, which is told from others by its JSON */
  constructor(make: (key: Key) => Promise<Thing>) {
    this.#make = make
  }

  get(key: Key): Promise<Thing> {
    const name = JSON.stringify(key)
    let thing = this.#made.get(name)
    if (thing === undefined) {
      thing = this.#make(key)
      this.#made.set(name, thing)
      // What failed for want of memory may succeed later.
      thing.catch(() => this.#made.delete(name))
    }
    return thing
  }
}
