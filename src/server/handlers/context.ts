import type { ResultMemory } from '../../../gpu/memory/result-memory.js'
import type { IndexHandle } from '../../../protocol/data-request.js'
import { badRequest } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import type { ControlOp, ControlRequest, Request } from '../../../protocol/messages.js'
import type { ReplyFields } from '../../../protocol/replies.js'
import type { Engine } from '../../engine/engine.js'
import type { WriteId } from '../../engine/index-requests.js'
import type { VersionId } from '../../engine/read-versions.js'
import type { SlowLog } from '../../observe/slow-log.js'
import type { Grant } from '../access/rights.js'
import type { Call } from '../backend.js'

/** The requests that concern the engine; the others concern the connection only. */
export type EngineRequest = Exclude<Request, { op: 'hello' | 'cancel' }>

/** Who asks, and whether the answer is still wanted. */
export interface RequestContext {
  readonly grant: Grant
  readonly call: Call
  /** Where the columns of a large result may go. */
  readonly memory: ResultMemory
  readonly slowLog: SlowLog
}

/** Carries out requests of one operation. */
export type ControlHandler<O extends ControlOp> = (
  engine: Engine,
  request: ControlRequest<O>,
  context: RequestContext,
) => Promise<{ readonly fields: ReplyFields[O]; readonly sections?: Sections }>

export type ControlHandlers<O extends ControlOp> = { readonly [Op in O]: ControlHandler<Op> }

/** How a write is named by its number. @throws WarpdexError `BAD_REQUEST` without a client's name */
export function writeIdOf(number: number | undefined, context: RequestContext): WriteId | undefined {
  return number === undefined ? undefined : numbered('a write with a write id', number, context)
}

/** Where the index of a request by a handle is found. @param writeId of the request, or of the batch that it is a part of */
export function indexesFor(engine: Engine, writeId: number | undefined, context: RequestContext) {
  const id = writeIdOf(writeId, context)
  return { openedIndex: (handle: IndexHandle) => engine.openedIndex(handle, id) }
}

/** How a read version is named by its number. @throws WarpdexError `BAD_REQUEST` without a client's name */
export function versionIdOf(number: number, context: RequestContext): VersionId {
  return numbered('a read version', number, context)
}

function numbered(what: string, number: number, { call: { client } }: RequestContext) {
  if (client !== undefined) return { client, number }
  throw badRequest(`${what} needs a hello before it that names the client`)
}
