import { WarpdexError } from '../../protocol/errors.js'
import type { CreateOptions } from '../sdk/index.js'

/**
 * Creates something, unless an equal one is there already.
 *
 * @returns whether it was made now
 */
export async function createOnce(create: (options: CreateOptions) => Promise<unknown>): Promise<boolean> {
  try {
    await create({})
    return true
  } catch (error) {
    const exists =
      error instanceof WarpdexError && (error.code === 'INDEX_EXISTS' || error.code === 'RELATION_EXISTS')
    if (!exists) throw error
    // Refuses one that is not equal.
    await create({ ifNotExists: true })
    return false
  }
}
