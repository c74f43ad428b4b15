import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'

/** The text in a colour or weight, where a terminal shows it and nobody asked for none (no-color.org). */
export function styled(style: 'bold' | 'red', text: string, stream: WriteStream): string {
  return stream.isTTY && !process.env.NO_COLOR ? styleText(style, text) : text
}
