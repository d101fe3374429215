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

/** The frame that answers a batch, as it fills. */
export type AnswersFrame = {
  /** @param slot place of the call in the batch. @param method what was called. */
  add(slot: number, answer: JSONRPCResponse, method: string): void;
  /** Nothing more fits, and answers of this method are what it is full of: another one would be made for nothing. */
  isFullFor(method: string): boolean;
  /** @returns null when nothing is answered. */
  text(): string | null;
};

/**
 * As long as it is larger than a frame may be, the largest answer gives way to an error with the code `failed`: only what was asked for, and is
 * only read, is large.
 */
export function createAnswersFrame(): AnswersFrame {
  const answers: { slot: number; id: JSONRPCID; text: string; bytes: number }[] = [];
  const largeMethods = new Set<string>();
  let total = 1;
  return {
    add: (slot, answer, method) => {
      const text = JSON.stringify(answer);
      const bytes = Buffer.byteLength(text);
      answers.push({ slot, id: answer.id, text, bytes });
      total += bytes + 1;
      const instead = Buffer.byteLength(failure(answer.id, rpcErrors.failed));
      if (answer.error === undefined && bytes > instead) largeMethods.add(method);
    },
    isFullFor: (method) => total > maxCloudFrameBytes && largeMethods.has(method),
    text: () => {
      if (answers.length === 0) return null;
      for (const answer of [...answers].sort((a, b) => b.bytes - a.bytes || a.slot - b.slot)) {
        if (total <= maxCloudFrameBytes) break;
        const instead = failure(answer.id, rpcErrors.failed);
        const saved = answer.bytes - Buffer.byteLength(instead);
        if (saved <= 0) break;
        answer.text = instead;
        total -= saved;
      }
      if (total > maxCloudFrameBytes) return unanswerable();
      const inOrder = answers.sort((a, b) => a.slot - b.slot).map(({ text }) => text);
      return `[${inOrder.join(',')}]`;
    },
  };
}

/** Instead of an answer that no frame has room for. */
export const noRoom = (id: JSONRPCID): JSONRPCResponse => createJSONRPCErrorResponse(id, rpcErrors.failed, tooLarge);

/** It is the ids themselves that are too large. */
const unanswerable = (): string => failure(null, rpcErrors.internal);
const failure = (id: JSONRPCID, code: number): string => JSON.stringify(createJSONRPCErrorResponse(id, code, tooLarge));
