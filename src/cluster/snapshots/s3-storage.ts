import { badRequest } from '../../../protocol/errors.js'
import { installCommand } from '../../../protocol/optional-packages.js'
import type { ObjectStorage } from './object-place.js'

/**
 * The objects of a replica set in S3, or what speaks its protocol. Region, endpoint and credentials are what the AWS SDK finds in its environment.
 * @param address `s3://BUCKET/PREFIX`
 * @throws WarpdexError `BAD_REQUEST` for another address, or where the package is not installed
 */
export async function openS3Storage(address: string, replicaSet: string): Promise<ObjectStorage> {
  const [, Bucket, folder] = /^s3:\/\/([^/]+)\/*(.*?)\/*$/.exec(address) ?? []
  if (Bucket === undefined) throw badRequest(`${address} names no bucket; it must be s3://BUCKET/PREFIX`)
  const s3 = await load()
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = process.env
  // Where there is a server of the user's own, buckets have no host names.
  const client = new s3.S3Client({ forcePathStyle: (AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL) !== undefined })
  const prefix = `${folder ? `${folder}/` : ''}${replicaSet}/`
  const at = (name: string) => ({ Bucket, Key: prefix + name })
  return {
    name: address,
    async names() {
      const names: string[] = []
      for await (const { Contents = [] } of s3.paginateListObjectsV2({ client }, { Bucket, Prefix: prefix }))
        for (const { Key = '' } of Contents) names.push(Key.slice(prefix.length))
      return names
    },
    async put(name, Body) {
      await client.send(new s3.PutObjectCommand({ ...at(name), Body }))
    },
    async get(name) {
      const { Body } = await client.send(new s3.GetObjectCommand(at(name)))
      if (Body === undefined) throw new Error(`${name} came without its content`)
      return Body.transformToByteArray()
    },
    async remove(name) {
      await client.send(new s3.DeleteObjectCommand(at(name)))
    },
  }
}

async function load() {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    throw badRequest(`snapshots in S3 need its client: ${installCommand('@aws-sdk/client-s3')}`, { cause })
  }
}
