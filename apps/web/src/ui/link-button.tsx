import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { buttonLook, type ButtonKind } from './button.tsx';
import { classNames } from './class-names.ts';

/** Leads to another page, and looks like a button. */
export function LinkButton({
  href,
  kind = 'plain',
  className,
  children,
}: {
  href: string;
  kind?: ButtonKind;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Link href={href} className={classNames(buttonLook(kind), className)}>
      {children}
    </Link>
  );
}
