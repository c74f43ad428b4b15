import { encodeFrame, layoutFrame, type Sections, writeFrame } from '../../protocol/frame.js'

/** Up to this size columns are copied into a frame of one piece. */
const ONE_PIECE_BYTES = 64 * 1024

/**
 * A frame in pieces that follow each other. The columns of a large one are pieces themselves, so that they are not copied;
 * they must not change before the frame has left.
 *
 * @throws WarpdexError `TOO_LARGE`
 */
export function framePieces(header: object, sections: Sections = {}): readonly Uint8Array[] {
  let columnBytes = 0
  for (const name in sections) columnBytes += sections[name]!.bytes.byteLength
  if (columnBytes <= ONE_PIECE_BYTES) return [encodeFrame(header, sections)]
  const entries = Object.entries(sections)
  const shapes = entries.map(([name, { type, bytes }]) => ({ name, type, length: bytes.byteLength }))
  const layout = layoutFrame(header, shapes)
  const head = new Uint8Array(layout.sections[0].offset)
  writeFrame({ ...layout, sections: [] }, head)
  const pieces: Uint8Array[] = [head]
  layout.sections.forEach(({ offset, length }, i) => {
    const end = offset + length
    const next = layout.sections[i + 1]?.offset ?? end
    pieces.push(entries[i][1].bytes)
    if (next > end) pieces.push(new Uint8Array(next - end))
  })
  return pieces
}
