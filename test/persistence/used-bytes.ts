import { open } from 'lmdb'

/** Bytes of a sound data file that LMDB uses: it may go on with room that is set aside. */
export async function usedBytes(directory: string): Promise<number> {
  const root = open({ path: directory, noSubdir: false, readOnly: true })
  const { lastPageNumber, pageSize } = Object(root.getStats())
  await root.close()
  return (Number(lastPageNumber) + 1) * Number(pageSize)
}
