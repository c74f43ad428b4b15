/** What is kept by name: an index, or a relation. */
interface Named {
  readonly definition: { readonly name: string }
  /** Whether it is there, as opposed to being created. */
  readonly exists: boolean
  create(after: Promise<void> | undefined): Promise<void>
  drop(): Promise<void>
}

/** Indexes, or relations, by name, from the beginning of their creation to that of their drop. */
export class Registry<Member extends Named> {
  readonly #members = new Map<string, Member>()
  /** Drops that are under way, by name. */
  readonly #drops = new Map<string, Promise<void>>()

  get(name: string): Member | undefined {
    return this.#members.get(name)
  }

  all(): readonly Member[] {
    return [...this.#members.values()]
  }

  /** Those that are there, as opposed to being created. */
  existing(): readonly Member[] {
    return this.all().filter(({ exists }) => exists)
  }

  /** The drop of that name that is under way, if there is one. */
  dropOf(name: string): Promise<void> | undefined {
    return this.#drops.get(name)
  }

  /** All drops that are under way. */
  drops(): readonly Promise<void>[] {
    return [...this.#drops.values()]
  }

  /** Enters one that is loaded by somebody else. */
  add<Added extends Member>(member: Added): Added {
    this.#members.set(member.definition.name, member)
    return member
  }

  /** Enters members by other names than they had, which `give` gives them. */
  rename(members: readonly Member[], give: () => void): void {
    for (const { definition } of members) this.#members.delete(definition.name)
    give()
    for (const member of members) this.add(member)
  }

  /**
   * Enters one and creates it, once a former one of its name is gone.
   * @param after what else must be done before, if anything
   */
  async create(member: Member, after?: Promise<unknown>): Promise<void> {
    const { name } = member.definition
    this.#members.set(name, member)
    try {
      const before = Promise.all([this.#drops.get(name), after]).then(() => {})
      // Its failure is that of the creation, which waits for it only when its turn has come.
      before.catch(() => {})
      await member.create(before)
    } catch (error) {
      if (this.#members.get(name) === member) this.#members.delete(name)
      throw error
    }
  }

  /**
   * Lets one go at once, and drops it.
   * @param run drops it, where that takes more than the member itself
   */
  async drop(member: Member, run = () => member.drop()): Promise<void> {
    const { name } = member.definition
    this.#members.delete(name)
    const drop = run()
    this.#drops.set(name, drop)
    try {
      await drop
    } catch (error) {
      // It is still there, unless it never came to be. Whoever creates another one of its name has waited for the drop, and fails with it.
      if (member.exists) this.#members.set(name, member)
      throw error
    } finally {
      if (this.#drops.get(name) === drop) this.#drops.delete(name)
    }
  }
}
