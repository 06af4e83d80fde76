import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { Pool } from 'undici';
import type { FuzzResponse } from './fuzz-contract.ts';
import type { FuzzRequest } from './fuzz-requests.ts';

export async function sendFuzzRequest(pool: Pool, request: FuzzRequest): Promise<FuzzResponse> {
  const { verb, path, headers, body, chunked, isGzip } = request;
  const bytes = isGzip === true ? gzipSync(body) : Buffer.from(body);
  const payload = verb !== 'POST' ? null : chunked ? Readable.from(chunksOf(bytes)) : bytes;
  const response = await pool.request({ method: verb, path, headers, body: payload });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
}

/** Splits bytes into three or more parts of similar size, also within a character. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  const size = Math.max(1, Math.min(100_001, Math.ceil(bytes.length / 3)));
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
