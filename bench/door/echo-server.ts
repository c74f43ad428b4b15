// A bare `ws` server in a process of its own that sends every message back: what a request costs without anything behind the socket.
import { WebSocketServer } from 'ws'

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
server.on('connection', (socket) => {
  socket.on('message', (data) => socket.send(data))
})
server.on('listening', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.send?.(`ws://127.0.0.1:${address.port}`)
})
process.on('disconnect', () => process.exit())
