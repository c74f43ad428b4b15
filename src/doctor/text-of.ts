import { readFileSync } from 'node:fs'

/** A file of the system as text; empty where it cannot be read. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
