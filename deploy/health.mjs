// The health check of the image: ends with 0 if the server of this container answers /health.
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

const { WARPDEX_PORT = '7070', WARPDEX_TLS_CERT = '' } = process.env
const request = WARPDEX_TLS_CERT === '' ? requestHttp : requestHttps

// The certificate is for the name that clients use, and this does not leave the container.
const options = { host: '127.0.0.1', port: WARPDEX_PORT, path: '/health', rejectUnauthorized: false }
request({ ...options, timeout: 4000 }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
  .end()
