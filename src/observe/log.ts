import { pino } from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const LOG_FORMATS = ['text', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

type Write = (fields: object, message: string) => void

/** Lines for whoever runs the server. Fields are few and flat, and nothing that a client sent stands in them. */
export interface Log {
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
}

const nothing: Write = () => {}

/** Keeps everything to itself. */
export const NO_LOG: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export interface LogOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Takes whole lines; standard error by default. */
  readonly write?: (line: string) => void
}

/** Opens a log: a JSON object a line, or a line for people. */
export function openLog({ level, format, write = toStandardError }: LogOptions): Log {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, { write: format === 'json' ? write : (line) => write(textLine(line)) })
}

function toStandardError(line: string): void {
  process.stderr.write(line)
}

/** A JSON line as text: time, level, message, then the other fields; a stack below it. */
function textLine(line: string): string {
  const { time, level, msg, pid: _pid, stack, ...fields }: Record<string, unknown> = JSON.parse(line)
  const said = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
  const below = typeof stack === 'string' ? `${stack.replace(/^/gm, '    ')}\n` : ''
  return `${time} ${String(level).toUpperCase().padEnd(5)} ${msg}${said.join('')}\n${below}`
}
