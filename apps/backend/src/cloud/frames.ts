import { createJSONRPCErrorResponse, type JSONRPCID, type JSONRPCResponse } from 'json-rpc-2.0';
import { maxCloudFrameBytes } from '@station/protocol/cloud-messages';
import { rpcErrors } from '@station/protocol/cloud-rpc';

/** A character of a string is three bytes of UTF-8 at most (a pair of them four). */
const maxBytesACharacter = 3;
const tooLarge = 'The answer would be larger than a frame may be.';

/** Whether the cloud takes it: at a larger one it ends the link. */
export const fitsFrame = (text: string): boolean =>
  text.length * maxBytesACharacter <= maxCloudFrameBytes || Buffer.byteLength(text) <= maxCloudFrameBytes;

/** The frame that answers a call; instead of one larger than a frame may be, an error with the code `failed`. */
export function frameOfOne(answer: JSONRPCResponse): string {
  const text = JSON.stringify(answer);
  if (fitsFrame(text)) return text;
  const instead = failure(answer.id, rpcErrors.failed);
  return fitsFrame(instead) ? instead : unanswerable();
}

/**
 * The frame that answers a batch. As long as it is larger than a frame may be, the largest answer gives way to an error with the code `failed`:
 * only what was asked for, and is only read, is large.
 */
export function frameOfAnswers(answers: readonly JSONRPCResponse[]): string {
  const texts = answers.map((answer) => JSON.stringify(answer));
  const bytes = texts.map((text) => Buffer.byteLength(text));
  let total = bytes.reduce((sum, one) => sum + one, answers.length + 1);
  const largestFirst = [...bytes.keys()].sort((a, b) => bytes[b]! - bytes[a]!);
  for (const index of largestFirst) {
    if (total <= maxCloudFrameBytes) break;
    const instead = failure(answers[index]?.id ?? null, rpcErrors.failed);
    const saved = bytes[index]! - Buffer.byteLength(instead);
    if (saved <= 0) break;
    texts[index] = instead;
    total -= saved;
  }
  return total > maxCloudFrameBytes ? unanswerable() : `[${texts.join(',')}]`;
}

/** It is the ids themselves that are too large. */
const unanswerable = (): string => failure(null, rpcErrors.internal);
const failure = (id: JSONRPCID, code: number): string => JSON.stringify(createJSONRPCErrorResponse(id, code, tooLarge));
