import { hash, randomInt, timingSafeEqual } from 'node:crypto';

/** A code as it is compared: case, spaces and dashes do not matter. */
const plainCode = (text: string): string => text.toUpperCase().replaceAll(/[\s-]/g, '');

/** Whether a text may be the lasting code of a station. */
export const isStationCode = (text: string): boolean => /^[A-Z0-9]{10,32}$/i.test(plainCode(text));

/** Compares two codes as people type them, in constant time whatever their lengths are. */
export const isSameCode = (one: string, other: string): boolean => timingSafeEqual(digestOf(one), digestOf(other));

const digestOf = (code: string): Buffer => hash('sha256', plainCode(code), 'buffer');

/** No letters and digits that look alike; no vowels, so that codes do not form words. */
export const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789';

const groupLength = 4;

/** Groups of the code of a station that a program makes: 12 of 28 letters, 57 bits. */
export const stationCodeGroups = 3;

/** A secret that is easy to read aloud and to type: "BCDF-2345-GHJK"; 19 bits a group. */
export function newCode(groupCount: number): string {
  return codeOf(groupCount, () => randomInt(alphabet.length));
}

export function codeOf(groupCount: number, letter: (index: number) => number): string {
  const at = (index: number): string => alphabet[letter(index)] ?? '';
  const group = (_: unknown, number: number): string =>
    Array.from({ length: groupLength }, (_letter, place) => at(number * groupLength + place)).join('');
  return Array.from({ length: groupCount }, group).join('-');
}
