import { Type } from 'typebox';

const limits = {
  expected: 'an e-mail address',
  minLength: 3,
  maxLength: 254,
  description: 'Compared without regard to case, and to blanks around it.',
};
export const Email = Type.String({ ...limits, pattern: '^\\s*[^\\s@]+@[^\\s@]+\\s*$' });

/** Control and format characters (Unicode, Cc and Cf) are not seen: nobody could log in by typing an address that has one. */
const seen = '[^\\s@\\p{Cc}\\p{Cf}]+';
export const NewEmail = Type.String({ ...limits, pattern: `^\\s*${seen}@${seen}\\s*$` });
