import { LIMITS } from './limits.js'

/**
 * Whether an index, a relation or a column may have that name. Lone surrogates are refused with the control characters: two such
 * names would be one name in UTF-8.
 */
export function isName(name: string): boolean {
  if (soundNames.has(name)) return true
  if (name === '' || /[\p{Cc}\p{Cs}]/u.test(name)) return false
  if (new TextEncoder().encode(name).length > LIMITS.indexNameBytes) return false
  if (soundNames.size >= KEPT_NAMES) soundNames.clear()
  soundNames.add(name)
  return true
}

/** Names that were looked at: the same come again and again. */
const soundNames = new Set<string>()
const KEPT_NAMES = 1024
