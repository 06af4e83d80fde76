/** Opcode of the frame after which ws reads nothing more. */
const CLOSE = 8;

/** Counts frames in the bytes of a client (RFC 6455 §5.2). A frame and its header may be split anywhere. */
export class FrameScan {
  /** Whether a close frame has begun and ended. */
  hasClosed = false;
  /** Bytes of the payload that are still to come. */
  #payloadBytes = 0;
  #opcode = 0;
  /** Bytes of the header read so far, and those that it has, as far as they show. */
  #headerAt = 0;
  #headerBytes = 2;
  #lengthEnd = 2;
  #length = 0;

  /** @returns the position in the bytes after so many frames, or after the first close frame, or their end */
  end(bytes: Buffer, maxFrames: number): number {
    let at = 0;
    for (let frames = 0; frames < maxFrames && at < bytes.length && !this.hasClosed; frames++) {
      while (this.#headerAt < this.#headerBytes && at < bytes.length) this.#readHeader(bytes[at++] as number);
      if (this.#headerAt < this.#headerBytes) break;
      const taken = Math.min(this.#payloadBytes, bytes.length - at);
      at += taken;
      this.#payloadBytes -= taken;
      if (this.#payloadBytes > 0) break;
      this.hasClosed = this.#opcode === CLOSE;
      this.#headerAt = 0;
      this.#headerBytes = 2;
    }
    return at;
  }

  #readHeader(byte: number): void {
    const at = this.#headerAt++;
    if (at === 0) this.#opcode = byte & 15;
    else if (at === 1) {
      const length = byte & 127;
      this.#lengthEnd = length < 126 ? 2 : length === 126 ? 4 : 10;
      this.#headerBytes = this.#lengthEnd + (byte >= 128 ? 4 : 0);
      this.#length = length < 126 ? length : 0;
    } else if (at < this.#lengthEnd) this.#length = this.#length * 256 + byte;
    this.#payloadBytes = this.#length;
  }
}
