import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'

/** The files of a certificate that vouches for itself, for this machine. */
export interface CertificateFiles {
  readonly tlsCert: string
  readonly tlsKey: string
}

/** @param until when it ends; in a month by default */
export async function makeCertificate(
  folder: string,
  name: string,
  until = new Date(Date.now() + 30 * 86_400_000),
): Promise<CertificateFiles> {
  const altNames = [{ type: 7, ip: '127.0.0.1' } as const, { type: 2, value: 'localhost' } as const]
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 60 * 86_400_000),
    notAfterDate: until,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames },
    ],
  })
  const files = { tlsCert: join(folder, `${name}.cert.pem`), tlsKey: join(folder, `${name}.key.pem`) }
  writeFileSync(files.tlsCert, cert)
  writeFileSync(files.tlsKey, key, { mode: 0o600 })
  return files
}
