import type { JoinFailure } from '@station/protocol/agent-network';
import type { Language } from '@station/protocol/languages';
import type { AccessProblem } from '../code-decide.ts';
import type { Security } from '@station/protocol/wifi-password';
import type { FormProblem, OtherSecurity } from '../join-form.ts';

/** A thing that went wrong, and what helps. `{name}` stands for the network. */
export type Trouble = { title: string; help: string };

/** Every text of the page in one language. Plain text: the page escapes it, and fills in what is in braces. */
export type Texts = {
  language: Language;
  title: string;
  product: string;
  languageSwitch: string;
  intro: string;
  networks: string;
  search: string;
  noNetworks: string;
  moreNetworks: string;
  signal: { strong: string; good: string; fair: string; weak: string };
  security: Record<Security, string>;
  known: string;
  outOfReach: string;
  other: string;
  otherHint: string;
  name: string;
  nameHint: string;
  otherSecurity: string;
  otherSecurities: Record<OtherSecurity, string>;
  password: string;
  passwordHint: string;
  passwordAgain: string;
  show: string;
  hide: string;
  showWithoutScript: string;
  /** On an open hotspot. */
  openHotspot: string;
  confirm: string;
  code: string;
  codeHint: string;
  join: string;
  searching: { title: string; text: string; link: string };
  trying: {
    title: string;
    waiting: string;
    goesAway: string;
    works: string;
    fails: string;
    look: string;
    busy: string;
  };
  failures: Record<JoinFailure, Trouble>;
  problems: Record<FormProblem | AccessProblem, Trouble>;
  /** A join was requested while the station was leaving the hotspot. */
  leaving: Trouble;
  refused: Record<'too_large' | 'origin' | 'content_type' | 'broken', Trouble>;
  back: string;
};
