"""Everyday kinds of things and examples of them: a question names the kind, its answer an example.

Kinds are words that name things wherever they stand: not `work`, `cause` or `major`, which questions have for other reasons.
Each word is one term, so a name of two words, such as hip-hop, is left out.
"""

from __future__ import annotations

_KINDS = """
activity hobby pastime pursuit: hike camp swim run paint draw knit sew read write cook bake garden fish climb bike cycle surf
 ski skate dance sing yoga pottery photography travel picnic kayak chess puzzle game museum concert movie meditate volunteer
 hunt sail craft
outdoor nature: hike camp swim fish climb bike kayak surf ski picnic run trail park beach lake forest mountain garden bird
sport: football soccer basketball baseball tennis golf hockey volleyball rugby cricket swim run ski skate surf cycle box
 boxing wrestle marathon gymnastics badminton climb karate judo
martial: karate judo taekwondo kickboxing boxing aikido jitsu jujitsu capoeira wrestle fencing muay
exercise workout fitness: yoga pilates run jog swim gym weight cardio cycle stretch aerobics crossfit boxing kickboxing hike
 dance treadmill
instrument: guitar piano violin drum flute cello bass saxophone trumpet clarinet keyboard ukulele harp banjo harmonica viola
pet animal: dog cat puppy kitten hamster rabbit bird parrot fish turtle snake lizard guinea pig horse cow sheep goat chicken
 duck ferret hedgehog gecko frog tortoise bear deer fox wolf elephant lion tiger
country nation abroad: america canada mexico brazil argentina chile peru colombia england britain uk ireland scotland wales
 france spain portugal italy germany austria switzerland netherlands belgium denmark norway sweden finland iceland poland
 greece turkey russia ukraine china japan korea india thailand vietnam indonesia malaysia singapore philippines australia
 zealand egypt morocco kenya nigeria africa israel iran
european europe: england britain ireland scotland france spain portugal italy germany austria switzerland netherlands belgium
 denmark norway sweden finland iceland poland greece hungary croatia czech romania
asian asia: china japan korea india thailand vietnam indonesia malaysia singapore philippines nepal taiwan
city: london paris rome berlin madrid barcelona amsterdam vienna prague tokyo beijing shanghai seoul delhi mumbai sydney
 melbourne toronto vancouver montreal york boston chicago seattle francisco angeles miami dallas houston austin denver
 portland
food dish meal cuisine: pasta pizza rice noodle soup salad sandwich burger chicken beef pork fish steak egg bread cheese
 sushi taco curry stew pie roast vegetable fruit cake dessert breakfast lunch dinner
dessert sweet treat: cake cookie pie ice cream chocolate brownie cupcake muffin pudding tart candy donut pastry mousse
fruit: apple banana orange grape strawberry blueberry raspberry cherry peach pear mango lemon melon pineapple kiwi plum
vegetable: carrot potato tomato onion pepper spinach broccoli lettuce cucumber cabbage bean pea corn garlic
drink beverage: coffee tea water juice beer wine soda milk cocktail smoothie latte whisky
clothes clothing wear outfit: shirt dress shoe sock hat coat jacket trousers jeans skirt sweater scarf glove boot tie suit
 uniform sneaker costume
vehicle: car bike motorcycle truck bus train plane boat ship van scooter bicycle tractor
car: ford toyota honda bmw mercedes audi tesla porsche ferrari mustang volkswagen chevrolet jeep subaru nissan volvo
color colour: red blue green yellow orange purple pink black white brown gray grey gold silver violet turquoise beige
family relative: mother father mom dad sister brother aunt uncle cousin grandmother grandfather grandma grandpa son daughter
 husband wife niece nephew parent child kid
job profession occupation career: teacher doctor nurse engineer developer designer lawyer artist writer chef manager
 counselor accountant scientist driver musician actor photographer farmer police firefighter journalist architect therapist
art artwork: painting drawing sculpture pottery photography mural sketch portrait poem music dance film ceramic
degree: math physics chemistry biology history art music literature psychology economics law medicine philosophy
 geography computer engineering
emotion feeling feel: happy sad angry afraid proud excited nervous anxious grateful relieved tired stressed lonely jealous
 upset calm
illness disease sick health: flu cold fever cancer diabetes asthma allergy headache infection injury virus surgery depression
 arthritis migraine
event celebration: wedding birthday parade festival concert party conference graduation anniversary funeral reunion fair gala
 marathon race exhibition tournament fundraiser show
holiday: christmas easter thanksgiving halloween hanukkah ramadan diwali birthday vacation
genre: fantasy mystery romance thriller horror comedy drama documentary fiction biography jazz rock pop classical
 country folk
device gadget electronics: phone laptop tablet computer camera headphone watch tv console printer router keyboard
plant flower: rose tulip lily daisy sunflower orchid succulent tree herb fern cactus tomato lavender
charity volunteer: shelter homeless hospital school orphan veteran food drive donation fundraiser rescue community
 cancer environment
material: wood metal plastic glass paper cotton leather steel clay stone fabric concrete
language: english spanish french german italian portuguese chinese mandarin japanese korean russian arabic hindi python java
 javascript typescript rust ruby php kotlin swift
framework library: react vue angular django flask fastapi rails spring express laravel pytest jest numpy pandas
database: postgres postgresql mysql sqlite mongodb redis oracle cassandra dynamodb elasticsearch
browser: chrome firefox safari edge
platform cloud: aws azure gcp docker kubernetes linux macos windows android ios heroku vercel
editor ide: vscode vim emacs intellij pycharm xcode
"""


_NAMED_KINDS = """
item: shirt dress shoe hat book toy doll camera phone laptop watch ring necklace lamp chair table painting bag bike car
 figurine mug poster guitar console
place spot: park beach mountain lake river forest museum cafe restaurant library church school gym shop mall hotel airport
 garden theater stadium zoo
"""


def _kinds(listed: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in listed.strip().replace("\n ", " ").splitlines():
        kinds, examples = entry.split(":")
        for kind in kinds.split():
            found[kind] = (*found.get(kind, ()), *examples.split())
    return found


KINDS = _kinds(_KINDS)
"""A kind -> examples of it."""

NAMED_KINDS = _kinds(_NAMED_KINDS)
"""The same for words of many uses, which are kinds only where a question asks which: "what items", not "is the item in place"."""
