/** Names of device types (contracts, section 2), for JSON Schema. */
export const typeNamePattern = '^[a-z0-9][a-z0-9._-]{0,63}$';
export const typeNameWords = '1 to 64 of the characters a-z, 0-9, ".", "_" and "-", the first a letter or digit';

const pattern = new RegExp(typeNamePattern);

export const isTypeName = (text: string): boolean => pattern.test(text);
