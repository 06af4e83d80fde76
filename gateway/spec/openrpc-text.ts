import { createHash } from 'node:crypto';
import type { OpenRpcDocument, OpenRpcServer } from './openrpc-document.ts';

/** An OpenRPC document as JSON text. Only its servers depend on a request; all else is serialised once. */
export class OpenRpcText {
  readonly #start: Buffer;
  readonly #digest: string;
  readonly #servers: readonly OpenRpcServer[];

  constructor({ servers, ...rest }: OpenRpcDocument) {
    this.#start = Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"servers":`);
    this.#digest = digestOf(this.#start);
    this.#servers = servers;
  }

  /**
   * The bytes in order, and their ETag.
   * @param servers in place of those of the document
   */
  with(servers = this.#servers): { readonly parts: readonly [Buffer, Buffer]; readonly etag: string } {
    const end = Buffer.from(`${JSON.stringify(servers)}}`);
    return { parts: [this.#start, end], etag: `"${this.#digest}${digestOf(end)}"` };
  }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
}
