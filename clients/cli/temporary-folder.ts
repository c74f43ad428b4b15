import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder, which whoever has it removes. */
export async function temporaryFolder(): Promise<{
  readonly path: string
  readonly remove: () => Promise<void>
}> {
  const path = await mkdtemp(join(tmpdir(), 'warpdex-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}
