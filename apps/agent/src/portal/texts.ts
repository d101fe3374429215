import type { Language } from '@station/protocol/languages';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import type { Texts } from './texts/portal-texts.ts';
import { pl } from './texts/pl.ts';
import { uk } from './texts/uk.ts';

export const texts: Readonly<Record<Language, Texts>> = { de, en, pl, uk };
