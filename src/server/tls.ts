import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'

/** A certificate, with those that vouch for it behind it, and its key, both PEM. */
export interface TlsIdentity {
  readonly cert: Buffer
  readonly key: Buffer
  /** When the certificate ends. */
  readonly until: Date
}

/**
 * Reads and checks the files of an identity, so that what is wrong with them is known before the first client comes.
 *
 * @param certPath empty together with `keyPath` for no TLS
 * @throws WarpdexError `BAD_REQUEST` that names the file and what is wrong with it
 */
export function readTlsIdentity(certPath: string, keyPath: string): TlsIdentity | undefined {
  if (certPath === '' && keyPath === '') return undefined
  if (certPath === '' || keyPath === '') {
    const missing = certPath === '' ? 'certificate, --tls-cert' : 'key, --tls-key'
    throw badRequest(`TLS needs both a certificate and its key; set the ${missing}, too`)
  }
  const cert = readPem(certPath)
  const key = readPem(keyPath)
  const certificate = parseCertificate(certPath, cert)
  if (!certificate.checkPrivateKey(parseKey(keyPath, key))) {
    const whose = `${keyPath} is the key of another certificate than ${certPath}`
    throw badRequest(`${whose}; the first one in a file with several must be the server's own`)
  }
  return { cert, key, until: new Date(certificate.validTo) }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (thrown) {
    throw badRequest(`${path} cannot be read: ${toWarpdexError(thrown).message}`)
  }
}

function parseCertificate(path: string, pem: Buffer): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw badRequest(`${path} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)`)
  }
}

function parseKey(path: string, pem: Buffer): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    const right = 'a private key in PEM form (-----BEGIN PRIVATE KEY-----) without a passphrase'
    throw badRequest(`${path} does not hold ${right}`)
  }
}
